; index values that are checked while the call runs

; == index_select
; loop [p0, p1] kept 2 vector 1
;   buffer b0 i64
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [1, 0]
;   access a1 b1 + 0 [0, 1] gather %0 * p2 of p3
;   access a2 b2 + 0 [p4, 1]
;   %0 i64 = load a0
;   %1 f32 = load a1
;   %2 f32 = store a2 %1
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
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = getelementptr i64, ptr %1, i64 4
  %20 = load i64, ptr %19, align 8
  %21 = mul i64 1, %6
  %22 = mul i64 %21, %8
  %23 = icmp sge i64 %22, 8388608
  %24 = ptrtoint ptr %14 to i64
  %25 = or i64 0, %24
  %26 = mul i64 %20, 4
  %27 = or i64 %25, %26
  %28 = and i64 %27, 63
  %29 = icmp eq i64 %28, 0
  %30 = and i1 %23, %29
  %31 = add i64 %8, 4095
  %32 = lshr i64 %31, 12
  %33 = urem i64 %2, %32
  %34 = udiv i64 %2, %32
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %166, %tail.end ]
  %35 = phi i64 [ %34, %work ], [ %165, %tail.end ]
  %36 = phi i64 [ %33, %work ], [ %163, %tail.end ]
  %37 = icmp slt i64 %task1, %3
  br i1 %37, label %task, label %task.end

task:                                             ; preds = %task.head
  %38 = mul i64 %35, 1
  %39 = getelementptr i64, ptr %10, i64 %38
  %40 = mul i64 %35, %20
  %41 = getelementptr float, ptr %14, i64 %40
  %42 = load i64, ptr %39, align 8
  %43 = mul i64 %36, 4096
  %44 = add i64 %43, 4096
  %45 = call i64 @llvm.smin.i64(i64 %44, i64 %8)
  %46 = sub i64 %45, %43
  %47 = and i64 %46, -32
  %48 = add i64 %43, %47
  br i1 %30, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %43, %then ], [ %96, %vector ]
  %49 = icmp slt i64 %vector2, %48
  br i1 %49, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %12, i64 %50
  %52 = add i64 %42, %18
  %53 = icmp slt i64 %42, 0
  %54 = select i1 %53, i64 %52, i64 %42
  %55 = mul i64 %54, %16
  %56 = getelementptr float, ptr %51, i64 %55
  %57 = load <8 x float>, ptr %56, align 4
  %58 = mul i64 %vector2, 1
  %59 = getelementptr float, ptr %12, i64 %58
  %60 = getelementptr float, ptr %59, i64 8
  %61 = add i64 %42, %18
  %62 = icmp slt i64 %42, 0
  %63 = select i1 %62, i64 %61, i64 %42
  %64 = mul i64 %63, %16
  %65 = getelementptr float, ptr %60, i64 %64
  %66 = load <8 x float>, ptr %65, align 4
  %67 = mul i64 %vector2, 1
  %68 = getelementptr float, ptr %12, i64 %67
  %69 = getelementptr float, ptr %68, i64 16
  %70 = add i64 %42, %18
  %71 = icmp slt i64 %42, 0
  %72 = select i1 %71, i64 %70, i64 %42
  %73 = mul i64 %72, %16
  %74 = getelementptr float, ptr %69, i64 %73
  %75 = load <8 x float>, ptr %74, align 4
  %76 = mul i64 %vector2, 1
  %77 = getelementptr float, ptr %12, i64 %76
  %78 = getelementptr float, ptr %77, i64 24
  %79 = add i64 %42, %18
  %80 = icmp slt i64 %42, 0
  %81 = select i1 %80, i64 %79, i64 %42
  %82 = mul i64 %81, %16
  %83 = getelementptr float, ptr %78, i64 %82
  %84 = load <8 x float>, ptr %83, align 4
  %85 = mul i64 %vector2, 1
  %86 = getelementptr float, ptr %41, i64 %85
  store <8 x float> %57, ptr %86, align 32, !nontemporal !0
  %87 = mul i64 %vector2, 1
  %88 = getelementptr float, ptr %41, i64 %87
  %89 = getelementptr float, ptr %88, i64 8
  store <8 x float> %66, ptr %89, align 32, !nontemporal !0
  %90 = mul i64 %vector2, 1
  %91 = getelementptr float, ptr %41, i64 %90
  %92 = getelementptr float, ptr %91, i64 16
  store <8 x float> %75, ptr %92, align 32, !nontemporal !0
  %93 = mul i64 %vector2, 1
  %94 = getelementptr float, ptr %41, i64 %93
  %95 = getelementptr float, ptr %94, i64 24
  store <8 x float> %84, ptr %95, align 32, !nontemporal !0
  %96 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %43, %else ], [ %144, %vector4 ]
  %97 = icmp slt i64 %vector5, %48
  br i1 %97, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %98 = mul i64 %vector5, 1
  %99 = getelementptr float, ptr %12, i64 %98
  %100 = add i64 %42, %18
  %101 = icmp slt i64 %42, 0
  %102 = select i1 %101, i64 %100, i64 %42
  %103 = mul i64 %102, %16
  %104 = getelementptr float, ptr %99, i64 %103
  %105 = load <8 x float>, ptr %104, align 4
  %106 = mul i64 %vector5, 1
  %107 = getelementptr float, ptr %12, i64 %106
  %108 = getelementptr float, ptr %107, i64 8
  %109 = add i64 %42, %18
  %110 = icmp slt i64 %42, 0
  %111 = select i1 %110, i64 %109, i64 %42
  %112 = mul i64 %111, %16
  %113 = getelementptr float, ptr %108, i64 %112
  %114 = load <8 x float>, ptr %113, align 4
  %115 = mul i64 %vector5, 1
  %116 = getelementptr float, ptr %12, i64 %115
  %117 = getelementptr float, ptr %116, i64 16
  %118 = add i64 %42, %18
  %119 = icmp slt i64 %42, 0
  %120 = select i1 %119, i64 %118, i64 %42
  %121 = mul i64 %120, %16
  %122 = getelementptr float, ptr %117, i64 %121
  %123 = load <8 x float>, ptr %122, align 4
  %124 = mul i64 %vector5, 1
  %125 = getelementptr float, ptr %12, i64 %124
  %126 = getelementptr float, ptr %125, i64 24
  %127 = add i64 %42, %18
  %128 = icmp slt i64 %42, 0
  %129 = select i1 %128, i64 %127, i64 %42
  %130 = mul i64 %129, %16
  %131 = getelementptr float, ptr %126, i64 %130
  %132 = load <8 x float>, ptr %131, align 4
  %133 = mul i64 %vector5, 1
  %134 = getelementptr float, ptr %41, i64 %133
  store <8 x float> %105, ptr %134, align 4
  %135 = mul i64 %vector5, 1
  %136 = getelementptr float, ptr %41, i64 %135
  %137 = getelementptr float, ptr %136, i64 8
  store <8 x float> %114, ptr %137, align 4
  %138 = mul i64 %vector5, 1
  %139 = getelementptr float, ptr %41, i64 %138
  %140 = getelementptr float, ptr %139, i64 16
  store <8 x float> %123, ptr %140, align 4
  %141 = mul i64 %vector5, 1
  %142 = getelementptr float, ptr %41, i64 %141
  %143 = getelementptr float, ptr %142, i64 24
  store <8 x float> %132, ptr %143, align 4
  %144 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %48, %endif ], [ %160, %tail ]
  %145 = icmp slt i64 %tail7, %45
  br i1 %145, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %146 = sub i64 %45, %tail7
  %147 = call i64 @llvm.umin.i64(i64 %146, i64 8)
  %148 = trunc i64 %147 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %148, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %149 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %150 = mul i64 %tail7, 1
  %151 = getelementptr float, ptr %12, i64 %150
  %152 = add i64 %42, %18
  %153 = icmp slt i64 %42, 0
  %154 = select i1 %153, i64 %152, i64 %42
  %155 = mul i64 %154, %16
  %156 = getelementptr float, ptr %151, i64 %155
  %157 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %156, i32 4, <8 x i1> %149, <8 x float> zeroinitializer)
  %158 = mul i64 %tail7, 1
  %159 = getelementptr float, ptr %41, i64 %158
  call void @llvm.masked.store.v8f32.p0(<8 x float> %157, ptr %159, i32 4, <8 x i1> %149)
  %160 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %161 = add i64 %36, 1
  %162 = icmp eq i64 %161, %32
  %163 = select i1 %162, i64 0, i64 %161
  %164 = zext i1 %162 to i64
  %165 = add i64 %35, %164
  %166 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %30, label %then8, label %endif9

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
