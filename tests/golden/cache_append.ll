; writes into parts of arguments are made in place

; == slice_scatter
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + p3 [p4, 1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
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
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 3
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr float, ptr %12, i64 %16
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = mul i64 1, %6
  %21 = mul i64 %20, %8
  %22 = icmp sge i64 %21, 8388608
  %23 = ptrtoint ptr %17 to i64
  %24 = or i64 0, %23
  %25 = mul i64 %19, 4
  %26 = or i64 %24, %25
  %27 = and i64 %26, 63
  %28 = icmp eq i64 %27, 0
  %29 = and i1 %22, %28
  %30 = add i64 %8, 4095
  %31 = lshr i64 %30, 12
  %32 = urem i64 %2, %31
  %33 = udiv i64 %2, %31
  br label %task.head

done:                                             ; preds = %endif12, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %191, %tail.end ]
  %34 = phi i64 [ %33, %work ], [ %190, %tail.end ]
  %35 = phi i64 [ %32, %work ], [ %188, %tail.end ]
  %36 = icmp slt i64 %task1, %3
  br i1 %36, label %task, label %task.end

task:                                             ; preds = %task.head
  %37 = mul i64 %34, %14
  %38 = getelementptr float, ptr %10, i64 %37
  %39 = mul i64 %34, %19
  %40 = getelementptr float, ptr %17, i64 %39
  %41 = mul i64 %35, 4096
  %42 = add i64 %41, 4096
  %43 = call i64 @llvm.smin.i64(i64 %42, i64 %8)
  %44 = sub i64 %43, %41
  %45 = and i64 %44, -32
  %46 = add i64 %41, %45
  br i1 %29, label %then, label %else

then:                                             ; preds = %task
  %47 = sub i64 %43, %41
  %48 = and i64 %47, -64
  %49 = add i64 %41, %48
  %50 = icmp slt i64 %41, %49
  br i1 %50, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %then
  %vectors2 = phi i64 [ %41, %then ], [ %89, %vectors ]
  %51 = getelementptr float, ptr %38, i64 %vectors2
  %52 = load <8 x float>, ptr %51, align 4
  %53 = getelementptr float, ptr %38, i64 %vectors2
  %54 = getelementptr float, ptr %53, i64 8
  %55 = load <8 x float>, ptr %54, align 4
  %56 = getelementptr float, ptr %38, i64 %vectors2
  %57 = getelementptr float, ptr %56, i64 16
  %58 = load <8 x float>, ptr %57, align 4
  %59 = getelementptr float, ptr %38, i64 %vectors2
  %60 = getelementptr float, ptr %59, i64 24
  %61 = load <8 x float>, ptr %60, align 4
  %62 = getelementptr float, ptr %38, i64 %vectors2
  %63 = getelementptr float, ptr %62, i64 32
  %64 = load <8 x float>, ptr %63, align 4
  %65 = getelementptr float, ptr %38, i64 %vectors2
  %66 = getelementptr float, ptr %65, i64 40
  %67 = load <8 x float>, ptr %66, align 4
  %68 = getelementptr float, ptr %38, i64 %vectors2
  %69 = getelementptr float, ptr %68, i64 48
  %70 = load <8 x float>, ptr %69, align 4
  %71 = getelementptr float, ptr %38, i64 %vectors2
  %72 = getelementptr float, ptr %71, i64 56
  %73 = load <8 x float>, ptr %72, align 4
  %74 = getelementptr float, ptr %40, i64 %vectors2
  store <8 x float> %52, ptr %74, align 32, !nontemporal !0
  %75 = getelementptr float, ptr %40, i64 %vectors2
  %76 = getelementptr float, ptr %75, i64 8
  store <8 x float> %55, ptr %76, align 32, !nontemporal !0
  %77 = getelementptr float, ptr %40, i64 %vectors2
  %78 = getelementptr float, ptr %77, i64 16
  store <8 x float> %58, ptr %78, align 32, !nontemporal !0
  %79 = getelementptr float, ptr %40, i64 %vectors2
  %80 = getelementptr float, ptr %79, i64 24
  store <8 x float> %61, ptr %80, align 32, !nontemporal !0
  %81 = getelementptr float, ptr %40, i64 %vectors2
  %82 = getelementptr float, ptr %81, i64 32
  store <8 x float> %64, ptr %82, align 32, !nontemporal !0
  %83 = getelementptr float, ptr %40, i64 %vectors2
  %84 = getelementptr float, ptr %83, i64 40
  store <8 x float> %67, ptr %84, align 32, !nontemporal !0
  %85 = getelementptr float, ptr %40, i64 %vectors2
  %86 = getelementptr float, ptr %85, i64 48
  store <8 x float> %70, ptr %86, align 32, !nontemporal !0
  %87 = getelementptr float, ptr %40, i64 %vectors2
  %88 = getelementptr float, ptr %87, i64 56
  store <8 x float> %73, ptr %88, align 32, !nontemporal !0
  %89 = add i64 %vectors2, 64
  %90 = icmp slt i64 %89, %49
  br i1 %90, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %then
  %91 = icmp slt i64 %49, %46
  br i1 %91, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %49, %vectors.end ], [ %110, %vector ]
  %92 = getelementptr float, ptr %38, i64 %vector3
  %93 = load <8 x float>, ptr %92, align 4
  %94 = getelementptr float, ptr %38, i64 %vector3
  %95 = getelementptr float, ptr %94, i64 8
  %96 = load <8 x float>, ptr %95, align 4
  %97 = getelementptr float, ptr %38, i64 %vector3
  %98 = getelementptr float, ptr %97, i64 16
  %99 = load <8 x float>, ptr %98, align 4
  %100 = getelementptr float, ptr %38, i64 %vector3
  %101 = getelementptr float, ptr %100, i64 24
  %102 = load <8 x float>, ptr %101, align 4
  %103 = getelementptr float, ptr %40, i64 %vector3
  store <8 x float> %93, ptr %103, align 32, !nontemporal !0
  %104 = getelementptr float, ptr %40, i64 %vector3
  %105 = getelementptr float, ptr %104, i64 8
  store <8 x float> %96, ptr %105, align 32, !nontemporal !0
  %106 = getelementptr float, ptr %40, i64 %vector3
  %107 = getelementptr float, ptr %106, i64 16
  store <8 x float> %99, ptr %107, align 32, !nontemporal !0
  %108 = getelementptr float, ptr %40, i64 %vector3
  %109 = getelementptr float, ptr %108, i64 24
  store <8 x float> %102, ptr %109, align 32, !nontemporal !0
  %110 = add i64 %vector3, 32
  %111 = icmp slt i64 %110, %46
  br i1 %111, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %endif

else:                                             ; preds = %task
  %112 = sub i64 %43, %41
  %113 = and i64 %112, -64
  %114 = add i64 %41, %113
  %115 = icmp slt i64 %41, %114
  br i1 %115, label %vectors4, label %vectors.end6

vectors4:                                         ; preds = %vectors4, %else
  %vectors5 = phi i64 [ %41, %else ], [ %154, %vectors4 ]
  %116 = getelementptr float, ptr %38, i64 %vectors5
  %117 = load <8 x float>, ptr %116, align 4
  %118 = getelementptr float, ptr %38, i64 %vectors5
  %119 = getelementptr float, ptr %118, i64 8
  %120 = load <8 x float>, ptr %119, align 4
  %121 = getelementptr float, ptr %38, i64 %vectors5
  %122 = getelementptr float, ptr %121, i64 16
  %123 = load <8 x float>, ptr %122, align 4
  %124 = getelementptr float, ptr %38, i64 %vectors5
  %125 = getelementptr float, ptr %124, i64 24
  %126 = load <8 x float>, ptr %125, align 4
  %127 = getelementptr float, ptr %38, i64 %vectors5
  %128 = getelementptr float, ptr %127, i64 32
  %129 = load <8 x float>, ptr %128, align 4
  %130 = getelementptr float, ptr %38, i64 %vectors5
  %131 = getelementptr float, ptr %130, i64 40
  %132 = load <8 x float>, ptr %131, align 4
  %133 = getelementptr float, ptr %38, i64 %vectors5
  %134 = getelementptr float, ptr %133, i64 48
  %135 = load <8 x float>, ptr %134, align 4
  %136 = getelementptr float, ptr %38, i64 %vectors5
  %137 = getelementptr float, ptr %136, i64 56
  %138 = load <8 x float>, ptr %137, align 4
  %139 = getelementptr float, ptr %40, i64 %vectors5
  store <8 x float> %117, ptr %139, align 4
  %140 = getelementptr float, ptr %40, i64 %vectors5
  %141 = getelementptr float, ptr %140, i64 8
  store <8 x float> %120, ptr %141, align 4
  %142 = getelementptr float, ptr %40, i64 %vectors5
  %143 = getelementptr float, ptr %142, i64 16
  store <8 x float> %123, ptr %143, align 4
  %144 = getelementptr float, ptr %40, i64 %vectors5
  %145 = getelementptr float, ptr %144, i64 24
  store <8 x float> %126, ptr %145, align 4
  %146 = getelementptr float, ptr %40, i64 %vectors5
  %147 = getelementptr float, ptr %146, i64 32
  store <8 x float> %129, ptr %147, align 4
  %148 = getelementptr float, ptr %40, i64 %vectors5
  %149 = getelementptr float, ptr %148, i64 40
  store <8 x float> %132, ptr %149, align 4
  %150 = getelementptr float, ptr %40, i64 %vectors5
  %151 = getelementptr float, ptr %150, i64 48
  store <8 x float> %135, ptr %151, align 4
  %152 = getelementptr float, ptr %40, i64 %vectors5
  %153 = getelementptr float, ptr %152, i64 56
  store <8 x float> %138, ptr %153, align 4
  %154 = add i64 %vectors5, 64
  %155 = icmp slt i64 %154, %114
  br i1 %155, label %vectors4, label %vectors.end6

vectors.end6:                                     ; preds = %vectors4, %else
  %156 = icmp slt i64 %114, %46
  br i1 %156, label %vector7, label %vector.end9

vector7:                                          ; preds = %vector7, %vectors.end6
  %vector8 = phi i64 [ %114, %vectors.end6 ], [ %175, %vector7 ]
  %157 = getelementptr float, ptr %38, i64 %vector8
  %158 = load <8 x float>, ptr %157, align 4
  %159 = getelementptr float, ptr %38, i64 %vector8
  %160 = getelementptr float, ptr %159, i64 8
  %161 = load <8 x float>, ptr %160, align 4
  %162 = getelementptr float, ptr %38, i64 %vector8
  %163 = getelementptr float, ptr %162, i64 16
  %164 = load <8 x float>, ptr %163, align 4
  %165 = getelementptr float, ptr %38, i64 %vector8
  %166 = getelementptr float, ptr %165, i64 24
  %167 = load <8 x float>, ptr %166, align 4
  %168 = getelementptr float, ptr %40, i64 %vector8
  store <8 x float> %158, ptr %168, align 4
  %169 = getelementptr float, ptr %40, i64 %vector8
  %170 = getelementptr float, ptr %169, i64 8
  store <8 x float> %161, ptr %170, align 4
  %171 = getelementptr float, ptr %40, i64 %vector8
  %172 = getelementptr float, ptr %171, i64 16
  store <8 x float> %164, ptr %172, align 4
  %173 = getelementptr float, ptr %40, i64 %vector8
  %174 = getelementptr float, ptr %173, i64 24
  store <8 x float> %167, ptr %174, align 4
  %175 = add i64 %vector8, 32
  %176 = icmp slt i64 %175, %46
  br i1 %176, label %vector7, label %vector.end9

vector.end9:                                      ; preds = %vector7, %vectors.end6
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end9
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail10 = phi i64 [ %46, %endif ], [ %185, %tail ]
  %177 = icmp slt i64 %tail10, %43
  br i1 %177, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %178 = sub i64 %43, %tail10
  %179 = call i64 @llvm.umin.i64(i64 %178, i64 8)
  %180 = trunc i64 %179 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %180, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %181 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %182 = getelementptr float, ptr %38, i64 %tail10
  %183 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %182, i32 4, <8 x i1> %181, <8 x float> zeroinitializer)
  %184 = getelementptr float, ptr %40, i64 %tail10
  call void @llvm.masked.store.v8f32.p0(<8 x float> %183, ptr %184, i32 4, <8 x i1> %181)
  %185 = add i64 %tail10, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %186 = add i64 %35, 1
  %187 = icmp eq i64 %186, %31
  %188 = select i1 %187, i64 0, i64 %186
  %189 = zext i1 %187 to i64
  %190 = add i64 %34, %189
  %191 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %29, label %then11, label %endif12

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

; == slice_scatter
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + p3 [p4, 1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
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
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 3
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr float, ptr %12, i64 %16
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = mul i64 1, %6
  %21 = mul i64 %20, %8
  %22 = icmp sge i64 %21, 8388608
  %23 = ptrtoint ptr %17 to i64
  %24 = or i64 0, %23
  %25 = mul i64 %19, 4
  %26 = or i64 %24, %25
  %27 = and i64 %26, 63
  %28 = icmp eq i64 %27, 0
  %29 = and i1 %22, %28
  %30 = add i64 %8, 4095
  %31 = lshr i64 %30, 12
  %32 = urem i64 %2, %31
  %33 = udiv i64 %2, %31
  br label %task.head

done:                                             ; preds = %endif12, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %191, %tail.end ]
  %34 = phi i64 [ %33, %work ], [ %190, %tail.end ]
  %35 = phi i64 [ %32, %work ], [ %188, %tail.end ]
  %36 = icmp slt i64 %task1, %3
  br i1 %36, label %task, label %task.end

task:                                             ; preds = %task.head
  %37 = mul i64 %34, %14
  %38 = getelementptr float, ptr %10, i64 %37
  %39 = mul i64 %34, %19
  %40 = getelementptr float, ptr %17, i64 %39
  %41 = mul i64 %35, 4096
  %42 = add i64 %41, 4096
  %43 = call i64 @llvm.smin.i64(i64 %42, i64 %8)
  %44 = sub i64 %43, %41
  %45 = and i64 %44, -32
  %46 = add i64 %41, %45
  br i1 %29, label %then, label %else

then:                                             ; preds = %task
  %47 = sub i64 %43, %41
  %48 = and i64 %47, -64
  %49 = add i64 %41, %48
  %50 = icmp slt i64 %41, %49
  br i1 %50, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %then
  %vectors2 = phi i64 [ %41, %then ], [ %89, %vectors ]
  %51 = getelementptr float, ptr %38, i64 %vectors2
  %52 = load <8 x float>, ptr %51, align 4
  %53 = getelementptr float, ptr %38, i64 %vectors2
  %54 = getelementptr float, ptr %53, i64 8
  %55 = load <8 x float>, ptr %54, align 4
  %56 = getelementptr float, ptr %38, i64 %vectors2
  %57 = getelementptr float, ptr %56, i64 16
  %58 = load <8 x float>, ptr %57, align 4
  %59 = getelementptr float, ptr %38, i64 %vectors2
  %60 = getelementptr float, ptr %59, i64 24
  %61 = load <8 x float>, ptr %60, align 4
  %62 = getelementptr float, ptr %38, i64 %vectors2
  %63 = getelementptr float, ptr %62, i64 32
  %64 = load <8 x float>, ptr %63, align 4
  %65 = getelementptr float, ptr %38, i64 %vectors2
  %66 = getelementptr float, ptr %65, i64 40
  %67 = load <8 x float>, ptr %66, align 4
  %68 = getelementptr float, ptr %38, i64 %vectors2
  %69 = getelementptr float, ptr %68, i64 48
  %70 = load <8 x float>, ptr %69, align 4
  %71 = getelementptr float, ptr %38, i64 %vectors2
  %72 = getelementptr float, ptr %71, i64 56
  %73 = load <8 x float>, ptr %72, align 4
  %74 = getelementptr float, ptr %40, i64 %vectors2
  store <8 x float> %52, ptr %74, align 32, !nontemporal !0
  %75 = getelementptr float, ptr %40, i64 %vectors2
  %76 = getelementptr float, ptr %75, i64 8
  store <8 x float> %55, ptr %76, align 32, !nontemporal !0
  %77 = getelementptr float, ptr %40, i64 %vectors2
  %78 = getelementptr float, ptr %77, i64 16
  store <8 x float> %58, ptr %78, align 32, !nontemporal !0
  %79 = getelementptr float, ptr %40, i64 %vectors2
  %80 = getelementptr float, ptr %79, i64 24
  store <8 x float> %61, ptr %80, align 32, !nontemporal !0
  %81 = getelementptr float, ptr %40, i64 %vectors2
  %82 = getelementptr float, ptr %81, i64 32
  store <8 x float> %64, ptr %82, align 32, !nontemporal !0
  %83 = getelementptr float, ptr %40, i64 %vectors2
  %84 = getelementptr float, ptr %83, i64 40
  store <8 x float> %67, ptr %84, align 32, !nontemporal !0
  %85 = getelementptr float, ptr %40, i64 %vectors2
  %86 = getelementptr float, ptr %85, i64 48
  store <8 x float> %70, ptr %86, align 32, !nontemporal !0
  %87 = getelementptr float, ptr %40, i64 %vectors2
  %88 = getelementptr float, ptr %87, i64 56
  store <8 x float> %73, ptr %88, align 32, !nontemporal !0
  %89 = add i64 %vectors2, 64
  %90 = icmp slt i64 %89, %49
  br i1 %90, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %then
  %91 = icmp slt i64 %49, %46
  br i1 %91, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %49, %vectors.end ], [ %110, %vector ]
  %92 = getelementptr float, ptr %38, i64 %vector3
  %93 = load <8 x float>, ptr %92, align 4
  %94 = getelementptr float, ptr %38, i64 %vector3
  %95 = getelementptr float, ptr %94, i64 8
  %96 = load <8 x float>, ptr %95, align 4
  %97 = getelementptr float, ptr %38, i64 %vector3
  %98 = getelementptr float, ptr %97, i64 16
  %99 = load <8 x float>, ptr %98, align 4
  %100 = getelementptr float, ptr %38, i64 %vector3
  %101 = getelementptr float, ptr %100, i64 24
  %102 = load <8 x float>, ptr %101, align 4
  %103 = getelementptr float, ptr %40, i64 %vector3
  store <8 x float> %93, ptr %103, align 32, !nontemporal !0
  %104 = getelementptr float, ptr %40, i64 %vector3
  %105 = getelementptr float, ptr %104, i64 8
  store <8 x float> %96, ptr %105, align 32, !nontemporal !0
  %106 = getelementptr float, ptr %40, i64 %vector3
  %107 = getelementptr float, ptr %106, i64 16
  store <8 x float> %99, ptr %107, align 32, !nontemporal !0
  %108 = getelementptr float, ptr %40, i64 %vector3
  %109 = getelementptr float, ptr %108, i64 24
  store <8 x float> %102, ptr %109, align 32, !nontemporal !0
  %110 = add i64 %vector3, 32
  %111 = icmp slt i64 %110, %46
  br i1 %111, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %endif

else:                                             ; preds = %task
  %112 = sub i64 %43, %41
  %113 = and i64 %112, -64
  %114 = add i64 %41, %113
  %115 = icmp slt i64 %41, %114
  br i1 %115, label %vectors4, label %vectors.end6

vectors4:                                         ; preds = %vectors4, %else
  %vectors5 = phi i64 [ %41, %else ], [ %154, %vectors4 ]
  %116 = getelementptr float, ptr %38, i64 %vectors5
  %117 = load <8 x float>, ptr %116, align 4
  %118 = getelementptr float, ptr %38, i64 %vectors5
  %119 = getelementptr float, ptr %118, i64 8
  %120 = load <8 x float>, ptr %119, align 4
  %121 = getelementptr float, ptr %38, i64 %vectors5
  %122 = getelementptr float, ptr %121, i64 16
  %123 = load <8 x float>, ptr %122, align 4
  %124 = getelementptr float, ptr %38, i64 %vectors5
  %125 = getelementptr float, ptr %124, i64 24
  %126 = load <8 x float>, ptr %125, align 4
  %127 = getelementptr float, ptr %38, i64 %vectors5
  %128 = getelementptr float, ptr %127, i64 32
  %129 = load <8 x float>, ptr %128, align 4
  %130 = getelementptr float, ptr %38, i64 %vectors5
  %131 = getelementptr float, ptr %130, i64 40
  %132 = load <8 x float>, ptr %131, align 4
  %133 = getelementptr float, ptr %38, i64 %vectors5
  %134 = getelementptr float, ptr %133, i64 48
  %135 = load <8 x float>, ptr %134, align 4
  %136 = getelementptr float, ptr %38, i64 %vectors5
  %137 = getelementptr float, ptr %136, i64 56
  %138 = load <8 x float>, ptr %137, align 4
  %139 = getelementptr float, ptr %40, i64 %vectors5
  store <8 x float> %117, ptr %139, align 4
  %140 = getelementptr float, ptr %40, i64 %vectors5
  %141 = getelementptr float, ptr %140, i64 8
  store <8 x float> %120, ptr %141, align 4
  %142 = getelementptr float, ptr %40, i64 %vectors5
  %143 = getelementptr float, ptr %142, i64 16
  store <8 x float> %123, ptr %143, align 4
  %144 = getelementptr float, ptr %40, i64 %vectors5
  %145 = getelementptr float, ptr %144, i64 24
  store <8 x float> %126, ptr %145, align 4
  %146 = getelementptr float, ptr %40, i64 %vectors5
  %147 = getelementptr float, ptr %146, i64 32
  store <8 x float> %129, ptr %147, align 4
  %148 = getelementptr float, ptr %40, i64 %vectors5
  %149 = getelementptr float, ptr %148, i64 40
  store <8 x float> %132, ptr %149, align 4
  %150 = getelementptr float, ptr %40, i64 %vectors5
  %151 = getelementptr float, ptr %150, i64 48
  store <8 x float> %135, ptr %151, align 4
  %152 = getelementptr float, ptr %40, i64 %vectors5
  %153 = getelementptr float, ptr %152, i64 56
  store <8 x float> %138, ptr %153, align 4
  %154 = add i64 %vectors5, 64
  %155 = icmp slt i64 %154, %114
  br i1 %155, label %vectors4, label %vectors.end6

vectors.end6:                                     ; preds = %vectors4, %else
  %156 = icmp slt i64 %114, %46
  br i1 %156, label %vector7, label %vector.end9

vector7:                                          ; preds = %vector7, %vectors.end6
  %vector8 = phi i64 [ %114, %vectors.end6 ], [ %175, %vector7 ]
  %157 = getelementptr float, ptr %38, i64 %vector8
  %158 = load <8 x float>, ptr %157, align 4
  %159 = getelementptr float, ptr %38, i64 %vector8
  %160 = getelementptr float, ptr %159, i64 8
  %161 = load <8 x float>, ptr %160, align 4
  %162 = getelementptr float, ptr %38, i64 %vector8
  %163 = getelementptr float, ptr %162, i64 16
  %164 = load <8 x float>, ptr %163, align 4
  %165 = getelementptr float, ptr %38, i64 %vector8
  %166 = getelementptr float, ptr %165, i64 24
  %167 = load <8 x float>, ptr %166, align 4
  %168 = getelementptr float, ptr %40, i64 %vector8
  store <8 x float> %158, ptr %168, align 4
  %169 = getelementptr float, ptr %40, i64 %vector8
  %170 = getelementptr float, ptr %169, i64 8
  store <8 x float> %161, ptr %170, align 4
  %171 = getelementptr float, ptr %40, i64 %vector8
  %172 = getelementptr float, ptr %171, i64 16
  store <8 x float> %164, ptr %172, align 4
  %173 = getelementptr float, ptr %40, i64 %vector8
  %174 = getelementptr float, ptr %173, i64 24
  store <8 x float> %167, ptr %174, align 4
  %175 = add i64 %vector8, 32
  %176 = icmp slt i64 %175, %46
  br i1 %176, label %vector7, label %vector.end9

vector.end9:                                      ; preds = %vector7, %vectors.end6
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end9
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail10 = phi i64 [ %46, %endif ], [ %185, %tail ]
  %177 = icmp slt i64 %tail10, %43
  br i1 %177, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %178 = sub i64 %43, %tail10
  %179 = call i64 @llvm.umin.i64(i64 %178, i64 8)
  %180 = trunc i64 %179 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %180, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %181 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %182 = getelementptr float, ptr %38, i64 %tail10
  %183 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %182, i32 4, <8 x i1> %181, <8 x float> zeroinitializer)
  %184 = getelementptr float, ptr %40, i64 %tail10
  call void @llvm.masked.store.v8f32.p0(<8 x float> %183, ptr %184, i32 4, <8 x i1> %181)
  %185 = add i64 %tail10, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %186 = add i64 %35, 1
  %187 = icmp eq i64 %186, %31
  %188 = select i1 %187, i64 0, i64 %186
  %189 = zext i1 %187 to i64
  %190 = add i64 %34, %189
  %191 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %29, label %then11, label %endif12

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
