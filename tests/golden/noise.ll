; random numbers begin where the last call ended

; == mul_add
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   access a2 b2 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = const 0.100000001 #3fb99999a0000000
;   %3 f32 = op Mul %1 %2
;   %4 f32 = op Add %0 %3
;   %5 f32 = store a2 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = mul i64 1, %6
  %14 = icmp sge i64 %13, 8388608
  %15 = ptrtoint ptr %12 to i64
  %16 = or i64 0, %15
  %17 = and i64 %16, 63
  %18 = icmp eq i64 %17, 0
  %19 = and i1 %14, %18
  %20 = add i64 %6, 4095
  %21 = lshr i64 %20, 12
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %149, %tail.end ]
  %22 = phi i64 [ %2, %work ], [ %148, %tail.end ]
  %23 = icmp slt i64 %task1, %3
  br i1 %23, label %task, label %task.end

task:                                             ; preds = %task.head
  %24 = mul i64 %22, 4096
  %25 = add i64 %24, 4096
  %26 = call i64 @llvm.smin.i64(i64 %25, i64 %6)
  %27 = sub i64 %26, %24
  %28 = and i64 %27, -32
  %29 = add i64 %24, %28
  br i1 %19, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %24, %then ], [ %80, %vector ]
  %30 = icmp slt i64 %vector2, %29
  br i1 %30, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %31 = mul i64 %vector2, 1
  %32 = getelementptr float, ptr %8, i64 %31
  %33 = load <8 x float>, ptr %32, align 4
  %34 = mul i64 %vector2, 1
  %35 = getelementptr float, ptr %8, i64 %34
  %36 = getelementptr float, ptr %35, i64 8
  %37 = load <8 x float>, ptr %36, align 4
  %38 = mul i64 %vector2, 1
  %39 = getelementptr float, ptr %8, i64 %38
  %40 = getelementptr float, ptr %39, i64 16
  %41 = load <8 x float>, ptr %40, align 4
  %42 = mul i64 %vector2, 1
  %43 = getelementptr float, ptr %8, i64 %42
  %44 = getelementptr float, ptr %43, i64 24
  %45 = load <8 x float>, ptr %44, align 4
  %46 = mul i64 %vector2, 1
  %47 = getelementptr float, ptr %10, i64 %46
  %48 = load <8 x float>, ptr %47, align 4
  %49 = mul i64 %vector2, 1
  %50 = getelementptr float, ptr %10, i64 %49
  %51 = getelementptr float, ptr %50, i64 8
  %52 = load <8 x float>, ptr %51, align 4
  %53 = mul i64 %vector2, 1
  %54 = getelementptr float, ptr %10, i64 %53
  %55 = getelementptr float, ptr %54, i64 16
  %56 = load <8 x float>, ptr %55, align 4
  %57 = mul i64 %vector2, 1
  %58 = getelementptr float, ptr %10, i64 %57
  %59 = getelementptr float, ptr %58, i64 24
  %60 = load <8 x float>, ptr %59, align 4
  %61 = fmul <8 x float> %48, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %62 = fmul <8 x float> %52, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %63 = fmul <8 x float> %56, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %64 = fmul <8 x float> %60, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %65 = fadd <8 x float> %33, %61
  %66 = fadd <8 x float> %37, %62
  %67 = fadd <8 x float> %41, %63
  %68 = fadd <8 x float> %45, %64
  %69 = mul i64 %vector2, 1
  %70 = getelementptr float, ptr %12, i64 %69
  store <8 x float> %65, ptr %70, align 32, !nontemporal !0
  %71 = mul i64 %vector2, 1
  %72 = getelementptr float, ptr %12, i64 %71
  %73 = getelementptr float, ptr %72, i64 8
  store <8 x float> %66, ptr %73, align 32, !nontemporal !0
  %74 = mul i64 %vector2, 1
  %75 = getelementptr float, ptr %12, i64 %74
  %76 = getelementptr float, ptr %75, i64 16
  store <8 x float> %67, ptr %76, align 32, !nontemporal !0
  %77 = mul i64 %vector2, 1
  %78 = getelementptr float, ptr %12, i64 %77
  %79 = getelementptr float, ptr %78, i64 24
  store <8 x float> %68, ptr %79, align 32, !nontemporal !0
  %80 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %24, %else ], [ %131, %vector4 ]
  %81 = icmp slt i64 %vector5, %29
  br i1 %81, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %82 = mul i64 %vector5, 1
  %83 = getelementptr float, ptr %8, i64 %82
  %84 = load <8 x float>, ptr %83, align 4
  %85 = mul i64 %vector5, 1
  %86 = getelementptr float, ptr %8, i64 %85
  %87 = getelementptr float, ptr %86, i64 8
  %88 = load <8 x float>, ptr %87, align 4
  %89 = mul i64 %vector5, 1
  %90 = getelementptr float, ptr %8, i64 %89
  %91 = getelementptr float, ptr %90, i64 16
  %92 = load <8 x float>, ptr %91, align 4
  %93 = mul i64 %vector5, 1
  %94 = getelementptr float, ptr %8, i64 %93
  %95 = getelementptr float, ptr %94, i64 24
  %96 = load <8 x float>, ptr %95, align 4
  %97 = mul i64 %vector5, 1
  %98 = getelementptr float, ptr %10, i64 %97
  %99 = load <8 x float>, ptr %98, align 4
  %100 = mul i64 %vector5, 1
  %101 = getelementptr float, ptr %10, i64 %100
  %102 = getelementptr float, ptr %101, i64 8
  %103 = load <8 x float>, ptr %102, align 4
  %104 = mul i64 %vector5, 1
  %105 = getelementptr float, ptr %10, i64 %104
  %106 = getelementptr float, ptr %105, i64 16
  %107 = load <8 x float>, ptr %106, align 4
  %108 = mul i64 %vector5, 1
  %109 = getelementptr float, ptr %10, i64 %108
  %110 = getelementptr float, ptr %109, i64 24
  %111 = load <8 x float>, ptr %110, align 4
  %112 = fmul <8 x float> %99, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %113 = fmul <8 x float> %103, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %114 = fmul <8 x float> %107, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %115 = fmul <8 x float> %111, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %116 = fadd <8 x float> %84, %112
  %117 = fadd <8 x float> %88, %113
  %118 = fadd <8 x float> %92, %114
  %119 = fadd <8 x float> %96, %115
  %120 = mul i64 %vector5, 1
  %121 = getelementptr float, ptr %12, i64 %120
  store <8 x float> %116, ptr %121, align 4
  %122 = mul i64 %vector5, 1
  %123 = getelementptr float, ptr %12, i64 %122
  %124 = getelementptr float, ptr %123, i64 8
  store <8 x float> %117, ptr %124, align 4
  %125 = mul i64 %vector5, 1
  %126 = getelementptr float, ptr %12, i64 %125
  %127 = getelementptr float, ptr %126, i64 16
  store <8 x float> %118, ptr %127, align 4
  %128 = mul i64 %vector5, 1
  %129 = getelementptr float, ptr %12, i64 %128
  %130 = getelementptr float, ptr %129, i64 24
  store <8 x float> %119, ptr %130, align 4
  %131 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %29, %endif ], [ %147, %tail ]
  %132 = icmp slt i64 %tail7, %26
  br i1 %132, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %133 = sub i64 %26, %tail7
  %134 = call i64 @llvm.umin.i64(i64 %133, i64 8)
  %135 = trunc i64 %134 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %135, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %136 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %137 = mul i64 %tail7, 1
  %138 = getelementptr float, ptr %8, i64 %137
  %139 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %138, i32 4, <8 x i1> %136, <8 x float> zeroinitializer)
  %140 = mul i64 %tail7, 1
  %141 = getelementptr float, ptr %10, i64 %140
  %142 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %141, i32 4, <8 x i1> %136, <8 x float> zeroinitializer)
  %143 = fmul <8 x float> %142, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %144 = fadd <8 x float> %139, %143
  %145 = mul i64 %tail7, 1
  %146 = getelementptr float, ptr %12, i64 %145
  call void @llvm.masked.store.v8f32.p0(<8 x float> %144, ptr %146, i32 4, <8 x i1> %136)
  %147 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %148 = add i64 %22, 1
  %149 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %19, label %then8, label %endif9

then8:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif9

endif9:                                           ; preds = %task.end, %then8
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
