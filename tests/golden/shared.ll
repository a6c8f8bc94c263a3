; two results share a storage

; == mul
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = const 2 #4000000000000000
;   %2 f32 = op Mul %0 %1
;   %3 f32 = store a1 %2
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
  %11 = mul i64 1, %6
  %12 = icmp sge i64 %11, 8388608
  %13 = ptrtoint ptr %10 to i64
  %14 = or i64 0, %13
  %15 = and i64 %14, 63
  %16 = icmp eq i64 %15, 0
  %17 = and i1 %12, %16
  %18 = add i64 %6, 4095
  %19 = lshr i64 %18, 12
  br label %task.head

done:                                             ; preds = %endif12, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %193, %tail.end ]
  %20 = phi i64 [ %2, %work ], [ %192, %tail.end ]
  %21 = icmp slt i64 %task1, %3
  br i1 %21, label %task, label %task.end

task:                                             ; preds = %task.head
  %22 = mul i64 %20, 4096
  %23 = add i64 %22, 4096
  %24 = call i64 @llvm.smin.i64(i64 %23, i64 %6)
  %25 = sub i64 %24, %22
  %26 = and i64 %25, -32
  %27 = add i64 %22, %26
  br i1 %17, label %then, label %else

then:                                             ; preds = %task
  %28 = sub i64 %24, %22
  %29 = and i64 %28, -64
  %30 = add i64 %22, %29
  %31 = icmp slt i64 %22, %30
  br i1 %31, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %then
  %vectors2 = phi i64 [ %22, %then ], [ %78, %vectors ]
  %32 = getelementptr float, ptr %8, i64 %vectors2
  %33 = load <8 x float>, ptr %32, align 4
  %34 = getelementptr float, ptr %8, i64 %vectors2
  %35 = getelementptr float, ptr %34, i64 8
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %8, i64 %vectors2
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = getelementptr float, ptr %8, i64 %vectors2
  %41 = getelementptr float, ptr %40, i64 24
  %42 = load <8 x float>, ptr %41, align 4
  %43 = getelementptr float, ptr %8, i64 %vectors2
  %44 = getelementptr float, ptr %43, i64 32
  %45 = load <8 x float>, ptr %44, align 4
  %46 = getelementptr float, ptr %8, i64 %vectors2
  %47 = getelementptr float, ptr %46, i64 40
  %48 = load <8 x float>, ptr %47, align 4
  %49 = getelementptr float, ptr %8, i64 %vectors2
  %50 = getelementptr float, ptr %49, i64 48
  %51 = load <8 x float>, ptr %50, align 4
  %52 = getelementptr float, ptr %8, i64 %vectors2
  %53 = getelementptr float, ptr %52, i64 56
  %54 = load <8 x float>, ptr %53, align 4
  %55 = fmul <8 x float> %33, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %56 = fmul <8 x float> %36, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %57 = fmul <8 x float> %39, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %58 = fmul <8 x float> %42, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %59 = fmul <8 x float> %45, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %60 = fmul <8 x float> %48, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %61 = fmul <8 x float> %51, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %62 = fmul <8 x float> %54, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %63 = getelementptr float, ptr %10, i64 %vectors2
  store <8 x float> %55, ptr %63, align 32, !nontemporal !0
  %64 = getelementptr float, ptr %10, i64 %vectors2
  %65 = getelementptr float, ptr %64, i64 8
  store <8 x float> %56, ptr %65, align 32, !nontemporal !0
  %66 = getelementptr float, ptr %10, i64 %vectors2
  %67 = getelementptr float, ptr %66, i64 16
  store <8 x float> %57, ptr %67, align 32, !nontemporal !0
  %68 = getelementptr float, ptr %10, i64 %vectors2
  %69 = getelementptr float, ptr %68, i64 24
  store <8 x float> %58, ptr %69, align 32, !nontemporal !0
  %70 = getelementptr float, ptr %10, i64 %vectors2
  %71 = getelementptr float, ptr %70, i64 32
  store <8 x float> %59, ptr %71, align 32, !nontemporal !0
  %72 = getelementptr float, ptr %10, i64 %vectors2
  %73 = getelementptr float, ptr %72, i64 40
  store <8 x float> %60, ptr %73, align 32, !nontemporal !0
  %74 = getelementptr float, ptr %10, i64 %vectors2
  %75 = getelementptr float, ptr %74, i64 48
  store <8 x float> %61, ptr %75, align 32, !nontemporal !0
  %76 = getelementptr float, ptr %10, i64 %vectors2
  %77 = getelementptr float, ptr %76, i64 56
  store <8 x float> %62, ptr %77, align 32, !nontemporal !0
  %78 = add i64 %vectors2, 64
  %79 = icmp slt i64 %78, %30
  br i1 %79, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %then
  %80 = icmp slt i64 %30, %27
  br i1 %80, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %30, %vectors.end ], [ %103, %vector ]
  %81 = getelementptr float, ptr %8, i64 %vector3
  %82 = load <8 x float>, ptr %81, align 4
  %83 = getelementptr float, ptr %8, i64 %vector3
  %84 = getelementptr float, ptr %83, i64 8
  %85 = load <8 x float>, ptr %84, align 4
  %86 = getelementptr float, ptr %8, i64 %vector3
  %87 = getelementptr float, ptr %86, i64 16
  %88 = load <8 x float>, ptr %87, align 4
  %89 = getelementptr float, ptr %8, i64 %vector3
  %90 = getelementptr float, ptr %89, i64 24
  %91 = load <8 x float>, ptr %90, align 4
  %92 = fmul <8 x float> %82, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %93 = fmul <8 x float> %85, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %94 = fmul <8 x float> %88, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %95 = fmul <8 x float> %91, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %96 = getelementptr float, ptr %10, i64 %vector3
  store <8 x float> %92, ptr %96, align 32, !nontemporal !0
  %97 = getelementptr float, ptr %10, i64 %vector3
  %98 = getelementptr float, ptr %97, i64 8
  store <8 x float> %93, ptr %98, align 32, !nontemporal !0
  %99 = getelementptr float, ptr %10, i64 %vector3
  %100 = getelementptr float, ptr %99, i64 16
  store <8 x float> %94, ptr %100, align 32, !nontemporal !0
  %101 = getelementptr float, ptr %10, i64 %vector3
  %102 = getelementptr float, ptr %101, i64 24
  store <8 x float> %95, ptr %102, align 32, !nontemporal !0
  %103 = add i64 %vector3, 32
  %104 = icmp slt i64 %103, %27
  br i1 %104, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %endif

else:                                             ; preds = %task
  %105 = sub i64 %24, %22
  %106 = and i64 %105, -64
  %107 = add i64 %22, %106
  %108 = icmp slt i64 %22, %107
  br i1 %108, label %vectors4, label %vectors.end6

vectors4:                                         ; preds = %vectors4, %else
  %vectors5 = phi i64 [ %22, %else ], [ %155, %vectors4 ]
  %109 = getelementptr float, ptr %8, i64 %vectors5
  %110 = load <8 x float>, ptr %109, align 4
  %111 = getelementptr float, ptr %8, i64 %vectors5
  %112 = getelementptr float, ptr %111, i64 8
  %113 = load <8 x float>, ptr %112, align 4
  %114 = getelementptr float, ptr %8, i64 %vectors5
  %115 = getelementptr float, ptr %114, i64 16
  %116 = load <8 x float>, ptr %115, align 4
  %117 = getelementptr float, ptr %8, i64 %vectors5
  %118 = getelementptr float, ptr %117, i64 24
  %119 = load <8 x float>, ptr %118, align 4
  %120 = getelementptr float, ptr %8, i64 %vectors5
  %121 = getelementptr float, ptr %120, i64 32
  %122 = load <8 x float>, ptr %121, align 4
  %123 = getelementptr float, ptr %8, i64 %vectors5
  %124 = getelementptr float, ptr %123, i64 40
  %125 = load <8 x float>, ptr %124, align 4
  %126 = getelementptr float, ptr %8, i64 %vectors5
  %127 = getelementptr float, ptr %126, i64 48
  %128 = load <8 x float>, ptr %127, align 4
  %129 = getelementptr float, ptr %8, i64 %vectors5
  %130 = getelementptr float, ptr %129, i64 56
  %131 = load <8 x float>, ptr %130, align 4
  %132 = fmul <8 x float> %110, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %133 = fmul <8 x float> %113, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %134 = fmul <8 x float> %116, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %135 = fmul <8 x float> %119, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %136 = fmul <8 x float> %122, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %137 = fmul <8 x float> %125, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %138 = fmul <8 x float> %128, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %139 = fmul <8 x float> %131, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %140 = getelementptr float, ptr %10, i64 %vectors5
  store <8 x float> %132, ptr %140, align 4
  %141 = getelementptr float, ptr %10, i64 %vectors5
  %142 = getelementptr float, ptr %141, i64 8
  store <8 x float> %133, ptr %142, align 4
  %143 = getelementptr float, ptr %10, i64 %vectors5
  %144 = getelementptr float, ptr %143, i64 16
  store <8 x float> %134, ptr %144, align 4
  %145 = getelementptr float, ptr %10, i64 %vectors5
  %146 = getelementptr float, ptr %145, i64 24
  store <8 x float> %135, ptr %146, align 4
  %147 = getelementptr float, ptr %10, i64 %vectors5
  %148 = getelementptr float, ptr %147, i64 32
  store <8 x float> %136, ptr %148, align 4
  %149 = getelementptr float, ptr %10, i64 %vectors5
  %150 = getelementptr float, ptr %149, i64 40
  store <8 x float> %137, ptr %150, align 4
  %151 = getelementptr float, ptr %10, i64 %vectors5
  %152 = getelementptr float, ptr %151, i64 48
  store <8 x float> %138, ptr %152, align 4
  %153 = getelementptr float, ptr %10, i64 %vectors5
  %154 = getelementptr float, ptr %153, i64 56
  store <8 x float> %139, ptr %154, align 4
  %155 = add i64 %vectors5, 64
  %156 = icmp slt i64 %155, %107
  br i1 %156, label %vectors4, label %vectors.end6

vectors.end6:                                     ; preds = %vectors4, %else
  %157 = icmp slt i64 %107, %27
  br i1 %157, label %vector7, label %vector.end9

vector7:                                          ; preds = %vector7, %vectors.end6
  %vector8 = phi i64 [ %107, %vectors.end6 ], [ %180, %vector7 ]
  %158 = getelementptr float, ptr %8, i64 %vector8
  %159 = load <8 x float>, ptr %158, align 4
  %160 = getelementptr float, ptr %8, i64 %vector8
  %161 = getelementptr float, ptr %160, i64 8
  %162 = load <8 x float>, ptr %161, align 4
  %163 = getelementptr float, ptr %8, i64 %vector8
  %164 = getelementptr float, ptr %163, i64 16
  %165 = load <8 x float>, ptr %164, align 4
  %166 = getelementptr float, ptr %8, i64 %vector8
  %167 = getelementptr float, ptr %166, i64 24
  %168 = load <8 x float>, ptr %167, align 4
  %169 = fmul <8 x float> %159, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %170 = fmul <8 x float> %162, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %171 = fmul <8 x float> %165, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %172 = fmul <8 x float> %168, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %173 = getelementptr float, ptr %10, i64 %vector8
  store <8 x float> %169, ptr %173, align 4
  %174 = getelementptr float, ptr %10, i64 %vector8
  %175 = getelementptr float, ptr %174, i64 8
  store <8 x float> %170, ptr %175, align 4
  %176 = getelementptr float, ptr %10, i64 %vector8
  %177 = getelementptr float, ptr %176, i64 16
  store <8 x float> %171, ptr %177, align 4
  %178 = getelementptr float, ptr %10, i64 %vector8
  %179 = getelementptr float, ptr %178, i64 24
  store <8 x float> %172, ptr %179, align 4
  %180 = add i64 %vector8, 32
  %181 = icmp slt i64 %180, %27
  br i1 %181, label %vector7, label %vector.end9

vector.end9:                                      ; preds = %vector7, %vectors.end6
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end9
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail10 = phi i64 [ %27, %endif ], [ %191, %tail ]
  %182 = icmp slt i64 %tail10, %24
  br i1 %182, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %183 = sub i64 %24, %tail10
  %184 = call i64 @llvm.umin.i64(i64 %183, i64 8)
  %185 = trunc i64 %184 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %185, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %186 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %187 = getelementptr float, ptr %8, i64 %tail10
  %188 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %187, i32 4, <8 x i1> %186, <8 x float> zeroinitializer)
  %189 = fmul <8 x float> %188, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %190 = getelementptr float, ptr %10, i64 %tail10
  call void @llvm.masked.store.v8f32.p0(<8 x float> %189, ptr %190, i32 4, <8 x i1> %186)
  %191 = add i64 %tail10, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %192 = add i64 %20, 1
  %193 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %17, label %then11, label %endif12

then11:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif12

endif12:                                          ; preds = %task.end, %then11
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
